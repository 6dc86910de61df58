<?php
require 'header.php';
foreach ($articles as $article) {
    echo $article['title'];
}
